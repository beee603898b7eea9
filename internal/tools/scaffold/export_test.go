package scaffold

// BuiltFrom returns where a project gets Operon from: a directory or a version.
func BuiltFrom(source, around, version string) (dir, pinned string, err error) {
	from, err := builtFrom(source, around, version)
	return from.dir, from.version, err
}

// GoMod returns the go.mod of a new project that gets Operon from a directory or a version.
func GoMod(dir, version string) (string, error) {
	mod, _, _, err := goModFor("example.com/lamp-operator", origin{dir: dir, version: version})
	return string(mod), err
}
