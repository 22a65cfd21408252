"""``python -m tienlen_env.engine.backends.native`` prints the platform, as wheels are built for it."""

from tienlen_env.engine.backends.native import this_platform

if __name__ == "__main__":
    print(this_platform())
