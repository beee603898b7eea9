package generate

// StampFolder is where the stamp of the project in dir is.
func StampFolder(dir string) string { return cacheOf(dir).folder }
