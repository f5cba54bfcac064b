"""Knowledge bases that outlive their process: a directory with versions, readable by every engine."""
