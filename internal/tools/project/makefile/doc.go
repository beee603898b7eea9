// Package makefile reads the commands in the recipes of a Makefile without running anything. Kubebuilder projects have the
// arguments of controller-gen only there, in variables.
//
// [Parse] reads variables, rules and included files, and [File.Commands] splits the recipes into simple shell commands. It
// expands references to variables. It does not evaluate conditions, defines, target-specific variables, or functions other
// than a lookup of a program or of the current directory. Text that depends on one of these is [Unknown] in a word: a word is
// never guessed. In this case, the user has to write the argument literally.
package makefile
