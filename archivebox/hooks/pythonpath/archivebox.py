"""Finds our modules for hooks, whatever else is installed beside them: this folder is all that goes on their path.

An installed ArchiveBox lies in a ``site-packages`` with its libraries. On the path of a hook with an environment of its
own, or of the program that a hook starts, that folder would replace their libraries by other versions.
"""

import os

__path__ = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
