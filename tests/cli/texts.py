"""Small corpora, written for these tests: three themes, the same in English and German."""

ENGLISH = {
    "sport": [
        "The goalkeeper saved the penalty and the team won the football match.",
        "Our team scored a late goal in the second half of the match.",
        "The coach praised the players after they won the league title.",
        "A striker from the visiting team scored three goals before half time.",
        "The referee stopped the match when a player was hurt.",
        "Fans sang while the players carried the league trophy around the pitch.",
        "The goalkeeper dropped the ball and the striker scored an easy goal.",
        "The coach wants fresh players for the next season of the league.",
    ],
    "kitchen": [
        "Melt the butter, add the flour and stir the sauce until it is smooth.",
        "Bake the bread in a hot oven until the crust is brown.",
        "Add salt and pepper to the soup and let it simmer.",
        "Mix flour, sugar and butter for the cake and bake it slowly.",
        "Chop the onions and fry them in butter before adding the soup stock.",
        "Taste the sauce and add a little more salt or sugar.",
        "The oven must be hot before the cake and the bread go in.",
        "Knead the dough with flour until the bread dough is smooth.",
    ],
    "space": [
        "The rocket carried a satellite into a low orbit around the earth.",
        "Astronauts on the station watched the moon rise over the earth.",
        "The probe left orbit and flew towards the moon and the planets.",
        "Engineers delayed the launch because the rocket engine was cold.",
        "A telescope in orbit took pictures of distant planets and stars.",
        "The launch of the satellite was watched by the astronauts.",
        "The engine of the rocket failed shortly after the launch.",
        "Stars and planets look small through an old telescope.",
    ],
}

GERMAN = {
    "sport": [
        "Der Torwart hielt den Elfmeter und die Mannschaft gewann das Spiel.",
        "Unsere Mannschaft schoss in der zweiten Hälfte des Spiels ein spätes Tor.",
        "Der Trainer lobte die Spieler, nachdem sie die Meisterschaft gewonnen hatten.",
        "Ein Stürmer der Gäste schoss vor der Pause drei Tore.",
        "Der Schiedsrichter unterbrach das Spiel, weil ein Spieler verletzt war.",
        "Die Zuschauer sangen, während die Spieler den Pokal über den Platz trugen.",
        "Der Torwart verlor den Ball und der Stürmer schoss ein leichtes Tor.",
        "Der Trainer wünscht sich neue Spieler für die nächste Meisterschaft.",
    ],
    "kueche": [
        "Die Butter zerlassen, das Mehl zugeben und die Soße glatt rühren.",
        "Das Brot im heißen Ofen backen, bis die Kruste braun ist.",
        "Die Suppe mit Salz und Pfeffer würzen und leise kochen lassen.",
        "Mehl, Zucker und Butter für den Kuchen mischen und langsam backen.",
        "Die Zwiebeln hacken und in Butter braten, bevor die Suppe dazukommt.",
        "Die Soße kosten und noch etwas Salz oder Zucker zugeben.",
        "Der Ofen muss heiß sein, bevor Kuchen und Brot hineinkommen.",
        "Den Teig mit Mehl kneten, bis der Brotteig glatt ist.",
    ],
    "haus": [
        "Das alte Haus am Fluss hat ein neues Dach bekommen.",
        "Die Häuser der Stadt stehen eng, und ihre Dächer sind rot.",
        "Im Haus führt eine Treppe aus Holz zu den Zimmern unter dem Dach.",
        "Die Mieter der Wohnung zahlen der Besitzerin des Hauses weniger Miete.",
        "Eine Wohnung in der Stadt kostet mehr Miete als ein Haus im Dorf.",
        "Die Fenster der Zimmer gehen auf den Fluss hinaus.",
        "Der Zimmermann baut die Treppe und die Fenster aus Holz.",
        "Das Dorf am Fluss hat zwölf Häuser und eine Kirche aus Stein.",
    ],
}


def records(corpus: dict[str, list[str]]) -> list[dict[str, object]]:
    """Documents with ids such as "sport-1" and a list of two labels."""
    return [
        {"id": f"{theme}-{n}", "text": text, "labels": [theme, "odd" if n % 2 else "even"]}
        for theme, texts in corpus.items()
        for n, text in enumerate(texts, 1)
    ]


def lines(corpus: dict[str, list[str]]) -> str:
    """One document per line."""
    return "".join(f"{text}\n" for texts in corpus.values() for text in texts)
