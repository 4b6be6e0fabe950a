import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparseauc_app.reading import DataError, read_source
from sparseauc_app.reading.text import decode


def read(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_source(path, **options)


def columns(source):
    return {
        name: source.frame.column(name).to_pylist()
        for name in source.frame.column_names
    }


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"]
)
def test_delimiter_and_encoding_are_found_out(tmp_path, delimiter, encoding):
    text = "größe,ort,y\n1.5,Köln,0\n-2,Zürich,1\n".replace(",", delimiter)
    source = read(tmp_path, text.encode(encoding))
    assert columns(source) == {
        "größe": [1.5, -2.0],
        "ort": ["Köln", "Zürich"],
        "y": [0, 1],
    }


@settings(max_examples=60)
@given(
    data=st.data(),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_pandas_writes_is_read_back(
    tmp_path_factory, data, delimiter, comma, encoding
):
    rows = data.draw(st.integers(1, 8))
    numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))
    # Letters and the characters that make trouble; the first keeps an entry from being
    # a number.
    words = st.text("abcä ,;\t|\"\n'", max_size=8).map(lambda s: "w" + s)
    frame = pd.DataFrame(
        {
            "number": data.draw(st.lists(numbers, min_size=rows, max_size=rows)),
            "word": data.draw(st.lists(words, min_size=rows, max_size=rows)),
            "whole": data.draw(
                st.lists(st.integers(-99, 99), min_size=rows, max_size=rows)
            ),
        }
    )
    path = tmp_path_factory.mktemp("round") / "table.csv"
    decimal = "," if comma and delimiter != "," else "."
    frame.to_csv(path, sep=delimiter, decimal=decimal, encoding=encoding, index=False)
    source = read_source(path)
    if source.doubtful:  # such as 1,234 alone
        source = read_source(path, decimal=decimal)
    found = columns(source)
    assert found["word"] == frame["word"].str.strip().tolist()
    assert found["whole"] == frame["whole"].tolist()
    np.testing.assert_allclose(found["number"], frame["number"], rtol=1e-15)


def test_quoted_newlines_and_quotes(tmp_path):
    source = read(tmp_path, 'a,"b\nc",y\n1,"say ""x""\nagain",0\n2,plain,1\n')
    assert columns(source) == {
        "a": [1, 2],
        "b\nc": ['say "x"\nagain', "plain"],
        "y": [0, 1],
    }


def test_decimal_commas_and_points_between_thousands(tmp_path):
    source = read(tmp_path, "a;b;c\n1,5;1.234,5;x\n-0,25;12.345.678,0;y\n3;7,5e3;z\n")
    found = columns(source)
    assert found["a"] == [1.5, -0.25, 3.0]
    assert found["b"] == [1234.5, 12345678.0, 7500.0]
    assert found["c"] == ["x", "y", "z"]
    assert "decimal commas in 'a', 'b'" in source.notes


def test_commas_between_thousands_in_a_comma_delimited_file(tmp_path):
    source = read(tmp_path, 'a,b\n"1,234.5",1\n"12,345,678",2\n"7",3\n')
    assert columns(source)["a"] == [1234.5, 12345678.0, 7.0]


@pytest.mark.parametrize("entry", ["1,2,3", "a,5", ",", "-"])
def test_text_with_commas_stays_text(tmp_path, entry):
    source = read(tmp_path, f'a,b\n"1,234",1\n"{entry}",2\n')
    assert columns(source)["a"] == ["1,234", entry]


def test_missing_values_of_many_spellings(tmp_path):
    source = read(tmp_path, "a,b\n1,NA\n,x\nnan,?\n.,<NA>\n-2.5,y\n")
    assert columns(source) == {
        "a": [1.0, None, None, None, -2.5],
        "b": [None, "x", None, None, "y"],
    }


def test_row_names_as_pandas_and_r_write_them(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": [3, 4]}, index=["first", "second"])
    pandas = read(tmp_path, frame.to_csv())
    r = read(tmp_path, '"a" "b"\n"first" 1.5 3\n"second" 2.5 4\n', delimiter=" ")
    r_comma = read(tmp_path, "a,b\nfirst,1.5,3\nsecond,2.5,4\n")
    for source in (pandas, r, r_comma):
        assert columns(source) == {"a": [1.5, 2.5], "b": [3, 4]}
        assert source.row_ids.tolist() == ["first", "second"]


def test_separator_line_of_spreadsheets(tmp_path):
    assert columns(read(tmp_path, "sep=;\r\na;b\r\n1;2\r\n")) == {"a": [1], "b": [2]}


def test_names_are_stripped_and_empty_ones_numbered(tmp_path):
    assert list(columns(read(tmp_path, "a, b ,,d\n1,2,3,4\n"))) == [
        "a",
        "b",
        "column 3",
        "d",
    ]


def test_compressed(tmp_path):
    assert columns(read(tmp_path, gzip.compress(b"a,b\n1,2\n"), "table.csv.gz")) == {
        "a": [1],
        "b": [2],
    }


def test_rows_longer_than_a_block(tmp_path):
    d = 20_000
    header = ",".join(f"x{j}" for j in range(d))
    row = ",".join(["123456789." + 110 * "2"] * d)
    frame = read(tmp_path, f"{header}\n{row}\n{row}\n").frame
    assert (frame.num_columns, frame.num_rows) == (d, 2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "no rows"),
        (b'{"a": [1, 2]}', "is JSON, not a table"),
        (b'{"a": 1}\n{"a": 2}\n', "is JSON, not a table"),
        (b"<!DOCTYPE html><html>", "is a web page"),
        (b'a,"b\n1,2\n3,4\n', "a quotation mark is not closed"),
        (b"a,b,a\n1,2,3\n", "two columns named 'a' (columns 1 and 3)"),
        (b"a,b\n1,2\n3\n", "line 3 has 1 field where the header has 2"),
        (b"a,b\n1,2\n\x00\x01\x02\n", "is not a text file"),
        (b"\xff\xfea", "mark of utf-16-le but is not"),
        (b"PK\x03\x04 and so on", "a zip archive or a spreadsheet"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, content, says):
    with pytest.raises(DataError, match=says.replace("(", r"\(").replace(")", r"\)")):
        read(tmp_path, content)


def test_stated_encoding_and_delimiter(tmp_path):
    source = read(
        tmp_path, "a:ü\n1:2\n".encode("cp850"), encoding="cp850", delimiter=":"
    )
    assert columns(source) == {"a": [1], "ü": [2]}
    with pytest.raises(DataError, match="unknown encoding 'klingon'"):
        read(tmp_path, "a,b\n1,2\n", encoding="klingon")
    with pytest.raises(DataError, match="is not ascii"):
        read(tmp_path, "a,ü\n1,2\n", encoding="ascii")
    for delimiter in ("::", "", "x", "ä", '"', "\n"):
        with pytest.raises(DataError, match="must be one of"):
            read(tmp_path, "a,b\n1,2\n", delimiter=delimiter)


def test_folder_and_absent_file(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        read_source(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read_source(tmp_path / "absent.csv")


def test_every_byte_is_some_text_or_refused():
    for byte in range(256):
        try:
            text, encoding = decode(bytes([65, byte, 66]), None, "x")
        except DataError:
            assert byte == 0
        else:
            assert text.encode(encoding) == bytes([65, byte, 66])


def test_whole_numbers_are_not_said_to_have_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("height;age\n1,75;40\n1,80;50\n")
    source = read_source(tmp_path / "t.csv")
    assert source.notes[-1] == "decimal commas in 'height'"
    # In a new file they may have one, and then it is a comma.
    assert {mark.decimal for mark in source.marks.values()} == {","}


def test_delimiters_at_the_end_of_rows_shift_no_column(tmp_path):
    plain = columns(read(tmp_path, 'a,"b, c",y\n1,2,0\n3,4,1\n'))
    source = read(tmp_path, 'a,"b, c",y\n1,2,0,\n3,4,1,\n')
    assert columns(source) == plain
    assert source.row_ids is None
    assert source.notes == ("rows end with a delimiter",)
    assert columns(read(tmp_path, 'a,"b, c",y\r\n1,2,0,\r\n3,4,1,\r\n')) == plain
    assert columns(read(tmp_path, "a;b;y\n1;2;0; \n3;4;1;\n")) == {
        "a": [1, 3],
        "b": [2, 4],
        "y": [0, 1],
    }
    with pytest.raises(DataError, match="one field more than the header"):
        read(tmp_path, "a,b\n" + "1,2,\n" * 30 + "1,2,3\n")
    # Row names are not empty.
    assert read(tmp_path, "a,b\nr1,1,2\nr2,3,4\n").row_ids.tolist() == ["r1", "r2"]


def test_one_convention_of_numbers_a_file(tmp_path):
    # Decimal commas elsewhere: points are between thousands.
    source = read(tmp_path, "v;z;n\n397;0,5;1\n2.812;1,25;2\n1.237;3;3\n")
    assert columns(source)["v"] == [397, 2812, 1237]
    assert source.marks == {"v": (",", "."), "z": (",", None), "n": (",", None)}
    # Decimal points elsewhere: commas are between thousands, whatever delimits fields.
    source = read(tmp_path, "v\tz\n397\t0.5\n2,812\t1.25\n")
    assert columns(source) == {"v": [397, 2812], "z": [0.5, 1.25]}
    # A column that has one meaning has it in any file; one that has two is left as
    # text.
    source = read(tmp_path, "v;z;x\n397;0,5;2.5\n2.812;1,25;3\n")
    assert columns(source) == {"v": ["397", "2.812"], "z": [0.5, 1.25], "x": [2.5, 3]}
    assert source.doubtful == ("v",)
    assert columns(read_source(tmp_path / "table.csv", decimal=","))["v"] == [397, 2812]
    assert columns(read_source(tmp_path / "table.csv", decimal="."))["v"] == [
        397,
        2.812,
    ]


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        ("v;y\n397;0\n2.812;1\n", ("v",)),
        ("v;y\n397;0\n2,812;1\n", ("v",)),
        ("v\ty\n397\t0\n2,812\t1\n", ("v",)),
        ("v\ty\n397\t0\n2.812\t1\n", ()),
        ("v,y\n397,0\n2.812,1\n", ()),
        ('v,y\n397,0\n"2,812",1\n', ()),
        ("v;y\n0.397;0\n2.812;1\n", ()),
        ("v;y\n397;0\n2.8125;1\n", ()),
    ],
)
def test_numbers_of_two_meanings_are_asked_about(tmp_path, text, doubtful):
    assert read(tmp_path, text).doubtful == doubtful


def test_blanks_around_texts_and_blank_entries(tmp_path):
    source = read(tmp_path, "a,b,c\n 1 , lost to FU  , x\n 2, NA ,   \n   ,?,y\n")
    assert columns(source) == {
        "a": [1, 2, None],
        "b": ["lost to FU", None, None],
        "c": ["x", None, "y"],
    }


def test_ids_are_kept_as_they_are_written(tmp_path):
    (tmp_path / "table.csv").write_text("id,a\nNA,1\nnull,2\n007,3\n x ,4\n")
    source = read_source(tmp_path / "table.csv", ids="id")
    assert columns(source) == {"id": ["NA", "null", "007", " x "], "a": [1, 2, 3, 4]}
    (tmp_path / "table.csv").write_text("id,a\n123456789012345678900,1\n007,2\n")
    source = read_source(tmp_path / "table.csv", ids="id")
    assert columns(source)["id"] == ["123456789012345678900", "007"]
