"""Running rule plans: the join kernel, the pipelines and workers that feed it, and rounds in one compiled call."""
