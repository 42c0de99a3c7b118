"""Losses and penalties that bend the wrong way: sigmoid, powers below one."""
