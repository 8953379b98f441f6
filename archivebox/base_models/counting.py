"""Owns counting the rows of a query for each row of another, in one statement."""

from django.db.models import IntegerField, Subquery


class CountOf(Subquery):
    """``annotate(pages=CountOf(rows[:1001]))``: how many rows there are, here up to 1,001."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()
