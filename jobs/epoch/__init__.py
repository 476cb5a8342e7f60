"""What the steps of an epoch share: context, hand-over, chain, plan, inputs, restored states, rows, publishing."""
