package generate

// StampOf is the file of the stamp of the project in dir.
var StampOf = stampOf
