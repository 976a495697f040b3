"""
Reports for staff, made from events: on a shoe, on a shift, and on the shuffles of all past shoes.

Reports contain faces that were never disclosed to the players.

    rounds, cards                  the read model: what the events of a table come to
    journal                        events and reports read from journals, with their proof
    shoe                           the report on one shoe
    shift, figures, period         the report on a shift: how it is made, its data, its time
    people                         what people did in a shift
    integrity, repeats, chance     the search of past shoes
    odds                           counts compared with chance
    text, page, wording            how a report is shown; with `shift_` those of a shift
"""
