from archivebox.lib.csv_lines import csv_line


def test_a_cell_brings_neither_an_escape_sequence_nor_a_formula() -> None:
    title = "\x1b]52;c;Y3VybA==\x07pears\x9b31m\r"
    line = csv_line([title, "=1+1", "two\nlines"])
    assert line == '\ufffd]52;c;Y3VybA==\ufffdpears\ufffd31m\ufffd,\'=1+1,"two\nlines"\r\n'
