"""
Guided installation of tables, a broker and a display on one computer, and their removal:
`shoe-daemon init`.

| module | purpose |
|---|---|
| `answers` | the answers of the technician, and their checks |
| `questions` | asks for the answers in the terminal |
| `readers` | finds readers that no other table has, and listens to a line |
| `plan` | the files that follow from the answers; pure |
| `mosquitto` | passwords, and their hashes for mosquitto |
| `certificates` | the site's authority, and the broker's certificate |
| `files` | shows and writes files; keeps a file that a person edited |
| `removal` | what is removed with a table |
| `services` | starts and ends the services, waits for a test round, and clears topics |
"""
