"""A fuzzer of the public API: every public method of every public class, with arguments of every kind."""
