"""What builds and checks this repository; not in the wheel."""
