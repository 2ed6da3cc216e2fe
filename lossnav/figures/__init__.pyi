"""What ``lossnav.figures`` offers: each name is loaded from here on first use."""

from lossnav.figures import example as example
from lossnav.figures import landscape as landscape
from lossnav.figures import rows as rows
from lossnav.figures import tables as tables
from lossnav.figures.style import COLOURS as COLOURS
from lossnav.figures.style import LANDSCAPE as LANDSCAPE
from lossnav.figures.style import LINES as LINES
from lossnav.figures.style import halo as halo
from lossnav.figures.style import label as label
from lossnav.figures.style import label_end as label_end
from lossnav.figures.style import letter as letter
from lossnav.figures.style import line as line
from lossnav.figures.style import mark as mark
from lossnav.figures.style import readable as readable
from lossnav.figures.style import title as title
from lossnav.figures.style import use_style as use_style
