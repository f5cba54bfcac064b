"""The Yield index of paper 003: for each rule, which facts match in its body and which wait for a partner."""
