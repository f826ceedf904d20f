package main

import "turnwatch/proxy"

// echo defines the setting of the echo check.
func (f *flags) echo(o *options) {
	f.group("Echo (values that are almost, but not quite, copies of what the request holds)")
	o.echo = choice{value: "signal", of: []string{"off", "signal", "verdict"}}
	f.value(&o.echo, "echo", "`HOW`: signal marks such turns as suspect and leaves their verdict alone; verdict makes them corrupted\n"+
		"where a parameter has always been a copy and turnwatch_echo_false_discovery is at most 0.05, and is signal\n"+
		"until then; off does not look")
}

// echoes is what the relay is told.
func (o *options) echoes() proxy.Echo {
	switch o.echo.value {
	case "off":
		return proxy.EchoOff
	case "verdict":
		return proxy.EchoVerdict
	}
	return proxy.EchoSignal
}
