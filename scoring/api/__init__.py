"""What the rooms of scoring say to each other: requests, what a model and a method are, columns, shared names."""
