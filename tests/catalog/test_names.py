"""Names are shared by streams, tables and views, in any case of letters."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sash.catalog.names import Catalog
from sash.errors import SashError
from sash.language.expressions import Field
from sash.language.statements import CreateView, StreamDefinition, TableDefinition, parse

FIELDS = (Field("ts", pa.int64()),)


def catalog() -> Catalog:
    names = Catalog()
    names.add(StreamDefinition("Packets", FIELDS, 0))
    names.add(TableDefinition("hosts", FIELDS))
    view = parse("CREATE VIEW big AS SELECT * FROM packets [RANGE 5]")[0]
    assert isinstance(view, CreateView)
    names.add(view.definition)
    return names


def code(act: object) -> str:
    with pytest.raises(SashError) as caught:
        act()  # type: ignore[operator]
    return caught.value.code


def test_letters_do_not_matter() -> None:
    assert catalog().stream("PACKETS").name == "Packets"
    assert catalog().lookup("nothing") is None
    assert catalog().all_names() == ["Packets", "hosts", "big"]


def test_a_name_means_one_thing() -> None:
    names = catalog()
    assert code(lambda: names.add(TableDefinition("PACKETS", FIELDS))) == "SASH-SESSION-002"


def test_unknown_names_and_wrong_kinds() -> None:
    names = catalog()
    assert code(lambda: names.stream("packet")) == "SASH-SESSION-001"
    assert code(lambda: names.stream("hosts")) == "SASH-SESSION-003"
    assert code(lambda: names.droppable("table", "packets")) == "SASH-SESSION-003"


def test_what_a_view_needs_stays() -> None:
    names = catalog()
    assert code(lambda: names.droppable("stream", "packets")) == "SASH-SESSION-004"
    names.remove(names.droppable("view", "big"))
    assert names.droppable("stream", "packets").name == "Packets"
