/* Requests the next image when the last one has arrived, so that a slow connection skips some. */
(function () {
  "use strict";
  var picture = document.getElementById("picture");
  var lost = document.getElementById("lost");
  var count = 0;

  function next() {
    count += 1;
    picture.src = "/picture.jpg?" + count;
  }

  function loaded() {
    lost.hidden = true;
    picture.className = "";
    window.setTimeout(next, 60);
  }

  picture.addEventListener("load", loaded);
  picture.addEventListener("error", function () {
    lost.hidden = false;
    picture.className = "old";
    window.setTimeout(next, 1000);
  });
  if (picture.complete && picture.naturalWidth) {
    loaded();
  } else if (picture.complete) {
    window.setTimeout(next, 300);
  }
}());
