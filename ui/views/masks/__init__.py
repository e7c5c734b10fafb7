"""The parts of the page Masks: the batch, its masks, what they cost, and what a softmax makes of them."""
