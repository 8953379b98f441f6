"""A service that speaks OpenAI's protocol of chat completions."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit


class ServiceError(Exception):
    """The service answered, and not with a summary; asking again is of no use."""


class ServiceBusyError(ServiceError):
    """The service did not answer, or is busy; later it may."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where it is, and what is asked of it.

    It is asked directly, since it is the person's own: by no proxy, and wherever it would send us we do not go, because
    the key is for the address that the person named.
    """

    url: str
    model: str
    key: str
    timeout: float  # seconds
    max_size: int  # bytes of an answer

    def ask(self, instruction: str, text: str) -> str:
        """The answer to `instruction`, about `text`. Raises ServiceError."""
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": text}]
        return self._content(self._post({"model": self.model, "messages": messages, "stream": False}))

    def _post(self, question: object) -> bytes:
        address = urlsplit(self.url)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        try:
            with closing(kind(address.netloc, timeout=self.timeout)) as connection:
                path = f"{address.path.rstrip('/')}/chat/completions"
                connection.request("POST", path, json.dumps(question).encode(), headers)
                response = connection.getresponse()
                answer = response.read(self.max_size + 1)
        except (OSError, HTTPException) as error:
            raise ServiceBusyError(str(error) or type(error).__name__) from error
        if response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ServiceBusyError(f"it answers {response.status} {response.reason}")
        if response.status != HTTPStatus.OK:
            raise ServiceError(f"it answers {response.status} {response.reason}")
        return answer

    def _content(self, answer: bytes) -> str:
        if len(answer) > self.max_size:
            raise ServiceError(f"its answer is longer than {self.max_size:,} bytes")
        try:
            return str(json.loads(answer)["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError) as error:
            raise ServiceError("its answer is not that of OpenAI's protocol") from error
