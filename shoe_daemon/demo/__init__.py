"""
The demo: `run` and `display` as processes, a simulated shoe or camera, and the board of `watch`.

`parts` writes the folder and starts the processes; `dealer` deals and waits for decisions;
`supervisor` decides by the policy, and `client` sends that where a person does not. `run`
shows the table, with the rows of `notes`. Needs the extra `demo`.
"""
