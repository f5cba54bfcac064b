"""Messages from an MQTT broker: a journal on the disk, and a client that acknowledges what is in it."""
