"""Processes that prepare images import this first: Ctrl-C is for the process that started them,
which then ends them.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
