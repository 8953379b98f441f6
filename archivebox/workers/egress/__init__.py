"""The proxy of crawls: its process, and how workers get a port of it for each crawl."""
