"""How derived facts follow changes: the algorithms, written once over what an engine offers (`StepFacts`)."""
