package tools

// Destination is exported for its table and its fuzz test.
var Destination = destination
