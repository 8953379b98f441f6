"""Owns the position of a reader that seeks; what is read there, a subclass says by ``readinto``."""

import io


class SeekableReader(io.RawIOBase):
    """A file of ``size`` bytes that is only read; ``_position`` is where, and ``readinto`` moves it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = max(0, base + offset)
        return self._position
