"""Owns showing a text as a QR code."""


def qr_code(text: str) -> str:
    """The address of a picture of it, dark on light whatever the page looks like: cameras read no other."""
    import segno  # 40 ms of a start that shows none

    return segno.make_qr(text, error="m").svg_data_uri(scale=5, border=4, dark="#000", light="#fff")
