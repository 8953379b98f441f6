"""A service that speaks OpenAI's protocol of chat completions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from archivebox.plugins.base.web import Web


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
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        web = Web("", self.timeout, follow=False, proxied=False)
        address = f"{self.url.rstrip('/')}/chat/completions"
        try:
            answer = web.fetch(address, self.max_size + 1, headers=headers, body=json.dumps(question).encode())
        except OSError as error:
            raise ServiceBusyError(str(error)) from error
        if answer.is_busy:
            raise ServiceBusyError(f"it answers {answer.status} {answer.reason}")
        if answer.status != HTTPStatus.OK:
            raise ServiceError(f"it answers {answer.status} {answer.reason}")
        return answer.content

    def _content(self, answer: bytes) -> str:
        if len(answer) > self.max_size:
            raise ServiceError(f"its answer is longer than {self.max_size:,} bytes")
        try:
            return str(json.loads(answer)["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError) as error:
            raise ServiceError("its answer is not that of OpenAI's protocol") from error
