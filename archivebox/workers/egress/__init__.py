"""The one way out of crawls: the process that holds the proxy, and how workers have a port of it for each crawl."""
