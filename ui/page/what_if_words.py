"""The words for what can be changed at a cell or a head: of the buttons under *What if…*, and of the menu there."""

CELL = {"cut": "Cut it", "only": "Only this", "cut_all": "Cut it in all heads"}
HEAD = {"uniform": "Look equally at all", "off": "Head off", "layer": "All heads of layer {layer} off"}
MORE = "More…"
