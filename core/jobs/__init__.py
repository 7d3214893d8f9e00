"""Jobs: long work that outlives the browser tab and the server that asked for it.

A job is one `platoscope` command, run in a process group of its own by the store's worker.
`core.jobs.queue` is what pages and commands use.
"""
