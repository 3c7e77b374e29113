"""What tests of plug-ins need: a loopback model server and a scripted model."""
