// Package bundles has bundles of operators for tests: all install modes, forms of files from several years, dependencies, mistakes, and hostile
// content. Each says which rules find errors in it.
package bundles
