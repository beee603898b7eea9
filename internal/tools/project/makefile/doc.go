// Package makefile reads the commands in the recipes of a Makefile without running anything: kubebuilder
// projects keep the arguments of controller-gen there, behind variables, and nowhere else.
//
// [Parse] reads variables, rules and included files, and [File.Commands] splits the recipes into simple shell
// commands. It expands references to variables. It does not evaluate conditions, defines, variables of a single
// target, or functions other than a lookup of a program or of the current directory. Whatever depends on one of
// these is [Unknown] in the words that it would be part of: a word is never guessed. The user then writes the
// argument out.
package makefile
