// Package launch is the host's half of a run: it starts a shard of the suite inside a sealed lab, either in new
// namespaces of this machine or in a container, and serves the shard's calls over its standard input and output.
package launch
