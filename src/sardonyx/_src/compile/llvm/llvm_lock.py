"""The lock of LLVM, and of modules that are imported late.

LLVM's global context serves one thread at a time.  Modules are imported late under the lock, too: a child that was forked
while another thread imported one would wait for it forever.
"""

from __future__ import annotations

import os
import threading

LLVM_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # else a child may wait forever for a lock that a thread held at the fork
    os.register_at_fork(
        before=LLVM_LOCK.acquire, after_in_parent=LLVM_LOCK.release, after_in_child=LLVM_LOCK.release
    )
