"""What calls pass: the front end, autocast, operations as ATen has them, and the places for what higher modules do."""
