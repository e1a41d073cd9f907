"""Lists that come in pages, as one sequence or page by page. Nothing is left out or shown twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from .answers import Json, read_cursor, read_results

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    results: tuple[Item, ...]
    #: Where the next page begins: pass it as `after`. None at the end.
    next: str | None


class Pages(Generic[Item]):
    """`for item in list`, or `for page in list.pages()`. Each loop begins at the beginning."""

    def __init__(self, fetch_page: Callable[[str | None], Page[Item] | None]) -> None:
        self._fetch_page = fetch_page

    def pages(self) -> Iterator[Page[Item]]:
        after: str | None = None
        while True:
            page = self._fetch_page(after)
            if page is None:
                return
            yield page
            if page.next is None:
                return
            after = page.next

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            yield from page.results


def read_page(read: Callable[[object], Item]) -> Callable[[Json], Page[Item]]:
    return lambda body: Page(tuple(read(each) for each in read_results(body)), read_cursor(body))
