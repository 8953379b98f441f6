"""What plugins that install programs share: what is asked for, where programs are found, and where they are put."""
