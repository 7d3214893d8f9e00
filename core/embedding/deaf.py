"""What processes that prepare pictures import before anything else, and nobody else does: Ctrl-C is
not for them but for the process that started them, which then ends them.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
