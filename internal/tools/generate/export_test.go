package generate

// StampOf returns the file with the stamp of the project in dir.
var StampOf = stampOf
