// Command walkthroughs has the kinds of tutorials.
package main

//go:generate operon generate --max-description=-1

func main() {}
