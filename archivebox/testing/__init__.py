"""What tests of ours and of plugin authors run in place of a machine. Begin with :func:`simulate.live`."""
