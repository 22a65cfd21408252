"""The table in the browser: a local server for people, agents and programs (``tienlen web``).

=============  ==========================================================================================
module         what it does
=============  ==========================================================================================
``messages``   reads the messages of clients; nothing else of a client is used
``table``      one game: its seats, who may do what, and what each seat gets
``hub``        all games: makes them, finds them by their tokens, stores them, lets agents play
``store``      the games in SQLite
``app``        the ASGI application: the page's files, one WebSocket, and who is let in
=============  ==========================================================================================

The state is on the server. A client sends moves; the server checks them with `Session` and sends to each seat
`Session.view` of that seat, so a client never has what its player may not know.
"""
