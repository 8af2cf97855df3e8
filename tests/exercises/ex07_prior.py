"""7. The missing prior of the vanilla bootstrap (Section 3.2).

Find numbers of clicks and impressions of two ads for which the bootstrap shows Ad_B with a
probability below one in a thousand, so that it will hardly ever learn more of it, while a guided
bootstrap (alpha = 1) shows Ad_B more than half of the time. How little has to be known of Ad_B?
`guideboot.chance_to_win` computes both probabilities exactly.
"""
CLICKS_A, IMPRESSIONS_A = None, None
CLICKS_B, IMPRESSIONS_B = None, None
