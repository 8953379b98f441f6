"""Ground that holds no opinion and imports no Django."""
