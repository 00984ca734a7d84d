"""What runs inside the worker's processes; it imports nothing of the host's side but the protocol and the policy."""
